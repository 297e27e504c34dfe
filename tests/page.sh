#!/bin/sh
# Looks at review pages as pictures: at 1440, 768 and 390 pixels, light and dark, with a headless browser, as they come and with
# all opened that is closed at first. Fails where text is clipped, overlaps or leaves its box, where contrast is too low, where
# the page is wider than the screen or, as it comes, longer than 12 screens, and where the browser has a message for its
# console. The pictures stay in target/page; of an opened page there is one where something is wrong with it.
#
# Usage: tests/page.sh SSDLAB [REVIEW_FOLDER...]; without folders, quick reviews of a drive, of three, and of a disk are made.
set -eu

ssdlab=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
out="${here%/tests}/target/page"
browser=${CHROMIUM:-chromium}
command -v "$browser" >/dev/null || {
    echo "no $browser: as root, apt-get install chromium (or name another with CHROMIUM=...)" >&2
    exit 1
}
mkdir -p "$out"
if [ $# -eq 0 ]; then
    "$ssdlab" review jmf667h-imft-256gb --quick --out "$out/one" >/dev/null
    "$ssdlab" review jmf667h-imft-256gb m600-256gb bx100-500gb --quick --out "$out/three" >/dev/null
    "$ssdlab" review spinpoint-f1-1tb --quick --out "$out/disk" >/dev/null
    set -- "$out/one" "$out/three" "$out/disk"
fi

failed=0
for folder in "$@"; do
    name=$(basename "$folder")
    # The page with the checks at its end, and a frame of the width of the screen: a browser's own window is never as
    # narrow as a phone.
    { sed 's|</body>||; s|</html>||' "$folder/index.html"; echo '<script>'; cat "$here/page/check.js"; echo '</script></body></html>'; } \
        >"$out/$name-checked.html"
    for width in 1440 768 390; do
        for state in light dark light-opened dark-opened; do
            query="theme=${state%-opened}"
            [ "${state%-opened}" = "$state" ] || query="$query&amp;opened"
            shot="$out/$name-$width-$state"
            cat >"$out/frame.html" <<END
<!doctype html><meta charset="utf-8"><style>body{margin:0}iframe{border:0;width:${width}px;height:900px;display:block}pre{display:none}</style>
<iframe src="$name-checked.html?$query"></iframe><pre id="report">no report</pre>
<script>addEventListener("message", (e) => {
  document.getElementById("report").textContent = "REP" + "ORT " + JSON.stringify(e.data) + " EN" + "D";
  document.querySelector("iframe").style.height = e.data.height + "px";
});</script>
END
            run="$browser --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --virtual-time-budget=4000"
            log="$shot.log"
            report=$($run --enable-logging=stderr --v=0 --window-size="$width,900" --dump-dom "file://$out/frame.html" 2>"$log" |
                tr '\n' ' ' | sed -n 's/.*REPORT \(.*\) END.*/\1/p' | sed 's/&amp;/\&/g; s/&lt;/</g; s/&gt;/>/g')
            height=$(printf '%s' "$report" | sed -n 's/.*"height":\([0-9]*\).*/\1/p')
            [ -n "$height" ] || { echo "$name at $width, $state: the page gave no report"; failed=1; continue; }
            faults=$(printf '%s' "$report" | sed -n 's/.*"faults":\[\(.*\)\].*/\1/p')
            # An opened page is fifty screens high: its picture is for looking at a fault.
            rm -f "$shot.png"
            if [ "${state%-opened}" = "$state" ] || [ -n "$faults" ]; then
                $run --window-size="$width,$height" --screenshot="$shot.png" "file://$out/frame.html" >/dev/null 2>&1
            fi
            if [ -n "$faults" ]; then
                echo "$name at $width, $state ($height px high):"
                printf '%s\n' "$faults" | sed 's/","/"\n  "/g; s/^/  /'
                failed=1
            fi
            if grep "CONSOLE" "$log"; then
                echo "$name at $width, $state: the console has messages"
                failed=1
            fi
        done
    done
done
[ "$failed" -eq 0 ] && echo "pages look as they should; pictures are in $out"
exit "$failed"
