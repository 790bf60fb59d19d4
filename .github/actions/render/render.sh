#!/usr/bin/env bash
# The step of action.yml: installs the command line of a release, checked against its checksums, and runs one command.
# Its inputs are the variables INPUT_*. It runs on Linux, macOS and Windows, with bash 3.2 of macOS too.
set -euo pipefail

fail() {
	echo "::error title=relaypdf::$*" >&2
	exit 1
}

# lines TEXT: appends the lines of a text that are not empty to the array `arguments`.
lines() {
	local line
	while IFS= read -r line; do
		line=${line%$'\r'}
		[ -z "$line" ] || arguments+=("$line")
	done <<<"$1"
}

# install VERSION: downloads a release to the runner's temporary folder, and adds it to PATH.
install() {
	local version=$1 system processor extension=tar.gz
	[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
		fail "version must be a release such as v1.2.0, or \"installed\"; got \"$version\"."

	case ${RUNNER_OS:-$(uname -s)} in
	Linux) system=linux ;;
	macOS | Darwin) system=darwin ;;
	Windows | MINGW* | MSYS*) system=windows extension=zip ;;
	*) fail "no release for the system ${RUNNER_OS:-$(uname -s)}: use a runner with Linux, macOS or Windows." ;;
	esac
	case ${RUNNER_ARCH:-$(uname -m)} in
	X64 | x86_64) processor=amd64 ;;
	ARM64 | aarch64 | arm64) processor=arm64 ;;
	*) fail "no release for the processor ${RUNNER_ARCH:-$(uname -m)}: use a runner with X64 or ARM64." ;;
	esac

	local releases=${RELAYPDF_RELEASES:-https://github.com/relaypdf/relaypdf/releases/download}
	local file="relaypdf_${version#v}_${system}_$processor.$extension"
	local folder="${RUNNER_TEMP:-/tmp}/relaypdf-$version"
	# PATH of bash on Windows has no drive letters.
	! command -v cygpath >/dev/null || folder=$(cygpath --unix "$folder")
	mkdir -p "$folder"
	(
		cd "$folder"
		local name
		for name in "$file" checksums.txt; do
			curl --fail --silent --show-error --location --retry 3 --output "$name" "$releases/$version/$name" ||
				fail "$releases/$version/$name cannot be downloaded."
		done

		grep "  $file\$" checksums.txt >checksum || fail "checksums.txt of $version does not list $file."
		if command -v sha256sum >/dev/null; then
			sha256sum --check --quiet checksum
		else
			shasum -a 256 --check --quiet checksum
		fi || fail "the checksum of $file is not that of checksums.txt."

		case $extension in
		zip) unzip -qo "$file" ;;
		*) tar -xzf "$file" ;;
		esac
	)
	PATH=$folder:$PATH
}

[ "$INPUT_VERSION" = installed ] || install "$INPUT_VERSION"
export RELAYPDF_API_URL=${INPUT_API_URL:-${RELAYPDF_API_URL:-}} RELAYPDF_API_KEY=${INPUT_API_KEY:-${RELAYPDF_API_KEY:-}}
[ -n "$RELAYPDF_API_URL" ] || fail "api-url is required: the URL of your server."
[ -n "$RELAYPDF_API_KEY" ] || fail "api-key is required: put an API key into a secret of the repository."

arguments=()
lines "$(tr -s ' .' '\n' <<<"$INPUT_COMMAND")"
lines "$INPUT_SOURCE"
lines "$INPUT_ARGUMENTS"
[ -z "$INPUT_OUTPUT" ] || arguments+=(--output "$INPUT_OUTPUT")

version=$(relaypdf --version)
echo "version=${version##* }" >>"${GITHUB_OUTPUT:-/dev/null}"
relaypdf "${arguments[@]}"
