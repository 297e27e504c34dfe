#!/bin/sh
# changes.sh SOURCE: makes the changes to MQSim (commit 7ec40e3) that docs/mqsim.md measures, each under a macro of its own:
#   -DCOMMANDS_FIRST  commands go before data that wait for the channel
#   -DSEND_AGAIN      requests that meet a page locked by garbage collection are sent when it is free again
# In SOURCE: make CC_FLAGS='-std=c++11 -O3 -DCOMMANDS_FIRST'
set -eu
ssd=$1/src/ssd

sed -i '/Copyback requests are prioritized/i\
#ifdef COMMANDS_FIRST\
		broadcastChannelIdleSignal(channel_id);\
		if (channels[channel_id]->GetStatus() == BusChannelStatus::BUSY) {\
			return;\
		}\
#endif' "$ssd/NVM_PHY_ONFI_NVDDR2.cpp"

for kind in read write; do
	case $kind in read) map=Read ;; write) map=Write ;; esac
	sed -i "/handle_transaction_serviced_signal_from_PHY((\*${kind}_tr).second);/i\\
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
#endif" "$ssd/Address_Mapping_Unit_Page_Level.cpp"
done
