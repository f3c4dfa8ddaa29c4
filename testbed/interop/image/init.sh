#!/bin/sh
# PID 1 of the guest. Kernel arguments: interop.script=PATH (inside the shared code folder), interop.devices=N.
# All modules that will be needed are loaded here, so the guest needs no modprobe later (rxe asks the kernel for crc32, and
# finds it loaded).
export PATH=/bin
/bin/busybox --install -s /bin
die() {
    echo "init: $1" >/dev/console
    [ -d /new/out ] && echo 70 >/new/out/status
    sync
    echo o >/proc/sysrq-trigger
    sleep 10
}
mkdir -p /proc /sys /dev /new
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
    insmod "/modules/$module" || die "cannot load $module"
done </modules/order

mount -t tmpfs -o size=64m,mode=755 root /new || die 'no tmpfs'
for folder in proc sys dev run tmp etc out code usr root var; do
    mkdir -p "/new/$folder"
done
share='trans=virtio,version=9p2000.L,msize=262144'
mount -t 9p -o "$share,cache=loose,ro" usr /new/usr || die 'cannot mount usr'
mount -t 9p -o "$share,cache=loose,ro" etc /new/etc || die 'cannot mount etc'
mount -t 9p -o "$share,cache=loose,ro" code /new/code || die 'cannot mount code'
mount -t 9p -o "$share,cache=none,rw" out /new/out || die 'cannot mount out'
for folder in bin sbin lib lib64; do
    ln -s usr/$folder /new/$folder
done
mount -o move /proc /new/proc
mount -o move /sys /new/sys
mount -o move /dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm /new/run/netns
mount -t devpts devpts /new/dev/pts
mount -t tmpfs shm /new/dev/shm
cp /bin/busybox /new/run/busybox
cat >/new/run/go <<'GO'
#!/run/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
read -r line </proc/cmdline
for word in $line; do
    case $word in
    interop.script=*) script=${word#*=} ;;
    interop.devices=*) INTEROP_DEVICES=${word#*=} ;;
    esac
done
export INTEROP_DEVICES
cd /out || exit
/run/busybox sh "/code/$script" >/out/setup.log 2>&1 </dev/null
echo $? >/out/status.new
mv /out/status.new /out/status
sync
echo o >/proc/sysrq-trigger
while :; do /run/busybox sleep 1; done
GO
chmod 755 /new/run/go
exec switch_root /new /run/busybox sh /run/go
