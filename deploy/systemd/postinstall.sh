#!/bin/sh
# Runs after the installation of the .deb or .rpm package.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers relaypdf.conf
elif ! getent passwd relaypdf >/dev/null; then
	useradd --system --user-group --no-create-home --home-dir /var/lib/relaypdf --shell /usr/sbin/nologin relaypdf
fi
if command -v fc-cache >/dev/null; then
	fc-cache /usr/share/fonts/relaypdf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart relaypdf.service
fi
if [ "$1" = configure ] && [ -z "$2" ] || [ "$1" = 1 ]; then
	echo 'relaypdf: change /etc/relaypdf/relaypdf.env, then run: systemctl enable --now relaypdf'
fi
