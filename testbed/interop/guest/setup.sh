#!/run/busybox sh
# Root of the guest: rxe devices on all interfaces, and the runner. Its working folder is the shared result folder.
# The address plan is that of topologies/addressing.py: interface eth<i> (from 0) has 10.77.0.(i+2)/16 and carries rxe<i>.
# An emulated processor starts programs slowly, so this starts few: builtins, batches, and Python beside the rest.
set -eu
devices=${INTEROP_DEVICES:?number of devices}
up() { read -r at rest </proc/uptime; echo "up $at s: $1"; }

up 'setup begins'
PYTHONPATH=/code /usr/bin/python3 -u -m testbed.interop.guest.runner /out /run/ready >/out/runner.log 2>&1 &
runner=$!

set_sysctl() { echo "$2" >"/proc/sys/net/$1"; }
for place in all default; do
    set_sysctl ipv4/conf/$place/accept_local 1
    set_sysctl ipv4/conf/$place/rp_filter 0
    set_sysctl ipv4/conf/$place/arp_ignore 1
    set_sysctl ipv4/conf/$place/arp_announce 2
    set_sysctl ipv6/conf/$place/disable_ipv6 1
done
set_sysctl ipv4/ip_forward 0

number=0
echo 'link set lo up' >/run/ip.batch
: >/run/rdma.batch
while [ "$number" -lt "$devices" ]; do
    read -r mac <"/sys/class/net/eth$number/address"
    case $mac in
    02:49:4e:41:00:0$((number + 1))) ;;
    *) echo "eth$number has the address $mac"; exit 3 ;;
    esac
    set_sysctl "ipv4/conf/eth$number/accept_local" 1
    set_sysctl "ipv4/conf/eth$number/rp_filter" 0
    echo "link set eth$number mtu 4200 up" >>/run/ip.batch
    echo "addr add 10.77.0.$((number + 2))/16 dev eth$number" >>/run/ip.batch
    echo "link add rxe$number type rxe netdev eth$number" >>/run/rdma.batch
    number=$((number + 1))
done
/bin/ip -batch /run/ip.batch
/bin/rdma -b /run/rdma.batch
up 'devices are there'
: >/run/ready
wait "$runner"
