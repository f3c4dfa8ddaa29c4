#!/bin/sh
# Root of the guest: rxe devices on all interfaces, and the runner. Its working folder is the shared result folder.
# The address plan is that of topologies/addressing.py: interface i (from 0) has 10.77.0.(i+2)/16 and carries rxe<i>.
set -eu
devices=${INTEROP_DEVICES:?number of devices}
ready=/run/devices-ready

# It loads numpy and pyverbs meanwhile.
PYTHONPATH=/code PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -u -m testbed.interop.guest.runner /out $ready \
    >/out/runner.log 2>&1 &
runner=$!

modprobe -a rdma_rxe ib_uverbs rdma_ucm
set_sysctl() { echo "$2" >"/proc/sys/net/$1"; }
for place in all default; do
    set_sysctl ipv4/conf/$place/accept_local 1
    set_sysctl ipv4/conf/$place/rp_filter 0
    set_sysctl ipv4/conf/$place/arp_ignore 1
    set_sysctl ipv4/conf/$place/arp_announce 2
    set_sysctl ipv6/conf/$place/disable_ipv6 1
done
set_sysctl ipv4/ip_forward 0
ip link set lo up

number=0
while [ "$number" -lt "$devices" ]; do
    mac=$(printf '02:49:4e:41:00:%02x' $((number + 1)))
    name=
    for folder in /sys/class/net/*; do
        [ "$(cat "$folder/address")" = "$mac" ] && name=${folder##*/}
    done
    [ -n "$name" ] || { echo "no interface has the address $mac"; exit 3; }
    set_sysctl "ipv4/conf/$name/accept_local" 1
    set_sysctl "ipv4/conf/$name/rp_filter" 0
    ip link set "$name" mtu 4200 up
    ip addr add "10.77.0.$((number + 2))/16" dev "$name"
    rdma link add "rxe$number" type rxe netdev "$name"
    number=$((number + 1))
done
rdma link show
ip -br addr
touch $ready
wait $runner
