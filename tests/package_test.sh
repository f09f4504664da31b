#!/usr/bin/env bash
# package_test.sh BUILD: makes the Debian package of a build and looks into it. Skipped (77) where Debian's tools are not.
set -u
build=$1
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not here (packages cmake, dpkg, dpkg-dev)" && exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# gzip: it is thrown away, and xz takes longer.
(cd -- "$build" && cpack -G DEB -B "$folder" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) >"$folder/log" 2>&1 || { cat "$folder/log" && exit 1; }
package=$(echo "$folder"/muster_*.deb)
faults=0
fault() {
  printf '%s\n' "$1"
  faults=1
}

wanted='usr/bin/muster usr/bin/muster-net usr/lib/muster/cloud-service usr/lib/systemd/system/muster-client@.service
usr/lib/systemd/system/muster-cloud.service usr/lib/systemd/system/muster-edge@.service
usr/share/bash-completion/completions/muster usr/share/doc/muster/LICENSE usr/share/doc/muster/deploy.md
usr/share/man/man1/muster.1 usr/share/zsh/site-functions/_muster'
holds=$(dpkg-deb -c "$package" | awk '$1 !~ /^d/ { sub(/^\.\//, "", $6); print $6 }' | sort)
[[ $holds == "$(tr ' ' '\n' <<<"$wanted" | sort)" ]] || fault "holds: $holds"
dpkg-deb -c "$package" | awk '$2 != "root/root"' | grep . && fault 'not of root'
needs=$(dpkg-deb -f "$package" Depends)
for library in libc6 'libgrpc++' libcpp-httplib libsodium libsqlite3 libssl3 passwd; do
  [[ $needs == *"$library"* ]] || fault "does not depend on $library: $needs"
done
dpkg-deb -e "$package" "$folder/control"
for script in postinst postrm; do sh -n "$folder/control/$script" || fault "$script is broken"; done
dpkg-deb -x "$package" "$folder/root"
[[ $("$folder/root/usr/bin/muster-net" --version) == muster\ * ]] || fault 'muster-net does not run'
exit "$faults"
