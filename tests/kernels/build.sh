# build.sh DIRECTORY: makes a small kernel there that has what Debian's has not, names of mappings: kernel.config. From
# Debian's package linux-source-6.1, in 8 minutes of processor time. Then, for example:
#
#     TESTED_KERNEL=DIRECTORY/vmlinuz ctest --test-dir build/standard -R '^kernel_'
#
# Needs gcc, make, flex, bison, bc, libelf-dev and xz-utils. No test runs it.

set -eu
config=$(readlink -f "$(dirname "$0")/kernel.config")
mkdir -p "$1"
cd "$1"
if [ ! -d tree ]; then
    apt-get -q download linux-source-6.1
    dpkg-deb -x linux-source-6.1_*.deb unpacked
    mkdir tree
    tar -xf unpacked/usr/src/linux-source-6.1.tar.xz -C tree --strip-components 1
    rm -rf unpacked linux-source-6.1_*.deb
fi
cd tree
make -s tinyconfig
scripts/kconfig/merge_config.sh -m .config "$config" >/dev/null
make -s olddefconfig
for line in $(grep '^CONFIG_' "$config"); do
    grep -qx "$line" .config || { echo "this kernel has no $line" && exit 1; }
done
make -s -j "$(nproc)" bzImage
cp arch/x86/boot/bzImage ../vmlinuz
