"""What libnbd finds out about a served drive. Usage: libnbd.py URI"""
import errno
import sys

import nbd

uri = sys.argv[1]


def fails(code, call):
    try:
        call()
    except nbd.Error as error:
        assert error.errnum == code, (error.errnum, code)
    else:
        raise AssertionError("no error")


# Negotiation, one option at a time.
h = nbd.NBD()
h.set_opt_mode(True)
h.connect_uri(uri)
names = []
h.opt_list(lambda name, description: names.append(name))
assert names == [""], names
h.set_export_name("no such export")
fails(errno.ENOENT, h.opt_info)
h.set_export_name("")
h.add_meta_context("base:allocation")
h.opt_info()
assert h.get_size() == 128035676160 and h.can_df() and h.can_multi_conn() and h.can_fua()
h.opt_go()
assert h.get_protocol() == "newstyle-fixed" and h.get_structured_replies_negotiated()

# Requests.
h.pwrite(b"\x5a" * 8192, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(8192, 4096) == b"\x5a" * 8192
chunks = []
h.pread_structured(16384, 0, lambda data, offset, status, error: chunks.append((offset, bytes(data))), nbd.CMD_FLAG_DF)
assert chunks == [(0, bytes(4096) + b"\x5a" * 8192 + bytes(4096))]
h.zero(4096, 4096, nbd.CMD_FLAG_NO_HOLE)
h.trim(4096, 8192)
h.cache(65536, 0)
h.flush()
extents = []
h.block_status(16384, 0, lambda context, offset, entries, error: extents.extend(entries))
assert extents == [4096, 3, 4096, 2, 8192, 3], extents

# Errors are the protocol's; libnbd's own checks are off.
h.set_strict_mode(0)
fails(errno.EINVAL, lambda: h.pread(512, 1))
fails(errno.EINVAL, lambda: h.pread(512, h.get_size()))
fails(errno.ENOSPC, lambda: h.pwrite(bytes(512), h.get_size()))
fails(errno.ENOTSUP, lambda: h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO))

# Many requests at once, over two connections; a flush on one covers what the other has written.
other = nbd.NBD()
other.connect_uri(uri)
buffers = {}
for k in range(200):
    buffers[h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray([k % 251]) * 4096), (1 << 20) + 4096 * k)] = k
while h.aio_in_flight() > 0:
    h.poll(-1)
for cookie in buffers:
    assert h.aio_command_completed(cookie)
other.flush()
data = other.pread(200 * 4096, 1 << 20)
assert all(data[4096 * k] == k % 251 for k in range(200))
h.shutdown()
other.shutdown()
