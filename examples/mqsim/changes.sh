#!/bin/sh
# changes.sh SOURCE: makes the changes to MQSim (commit 7ec40e3) that docs/mqsim.md measures, each under a macro of its own:
#   -DCOMMANDS_FIRST  commands go before data that wait for the channel
#   -DSEND_AGAIN      requests that meet a page locked by garbage collection are sent when it is free again
# In SOURCE: make CC_FLAGS='-std=c++11 -O3 -DCOMMANDS_FIRST'
# Exit code 1, and nothing is changed, if SOURCE has not the lines that they go before, or has them already.
set -eu
phy=$1/src/ssd/NVM_PHY_ONFI_NVDDR2.cpp mapping=$1/src/ssd/Address_Mapping_Unit_Page_Level.cpp
commands='Copyback requests are prioritized'
served() { printf "%s" "handle_transaction_serviced_signal_from_PHY((\*${1}_tr).second);"; }

if grep -q 'COMMANDS_FIRST\|SEND_AGAIN' "$phy" "$mapping"; then
	echo "$1 has these changes already" >&2
	exit 1
fi
if ! grep -q "$commands" "$phy" || ! grep -q "$(served read)" "$mapping" || ! grep -q "$(served write)" "$mapping"; then
	echo "$1 is not MQSim of commit 7ec40e3: lines that the changes go before are not there" >&2
	exit 1
fi

sed -i "/$commands/"'i\
#ifdef COMMANDS_FIRST\
		broadcastChannelIdleSignal(channel_id);\
		if (channels[channel_id]->GetStatus() == BusChannelStatus::BUSY) {\
			return;\
		}\
#endif' "$phy"

for kind in read write; do
	case $kind in read) map=Read ;; write) map=Write ;; esac
	sed -i "/$(served $kind)/i\\
#ifdef SEND_AGAIN\\
			{\\
				NVM_Transaction_Flash* again = ${kind}_tr->second;\\
				domains[stream_id]->${map}_transactions_behind_LPA_barrier.erase(${kind}_tr);\\
				${kind}_tr = domains[stream_id]->${map}_transactions_behind_LPA_barrier.find(lpa);\\
				ftl->TSU->Prepare_for_transaction_submit();\\
				if (query_cmt(again)) {\\
					ftl->TSU->Submit_transaction(again);\\
				}\\
				ftl->TSU->Schedule();\\
				continue;\\
			}\\
#endif" "$mapping"
done
