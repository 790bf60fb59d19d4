#!/bin/sh
# Runs before the removal of the .deb or .rpm package, and not before an upgrade. The data and the user stay.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl disable --now relaypdf.service
fi
