# The container images of relaypdf: `full`, which is the default, `slim`, without
# office documents, without Java (filling in forms) and without OCR, and `core`, which
# is `slim` without the programs under the AGPL: see docs/licenses.md.
#
#   docker build --target full --build-arg VERSION="$(git describe --tags --always)" -t relaypdf .
#   docker run --security-opt seccomp=deploy/seccomp.json -p 127.0.0.1:8787:8787 -v relaypdf:/var/lib/relaypdf relaypdf
#
# `make images` and `make image-test` build and try them.

# On the machine's own processor, whichever the image is for: Go builds for others.
FROM --platform=$BUILDPLATFORM golang:1.26-trixie AS build
# For the packages of npm that are embedded, and to compile the part of veraPDF's command line that relaypdf uses.
RUN apt-get update && apt-get install -y --no-install-recommends nodejs npm openjdk-21-jdk-headless && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# The modules are a layer of their own: they change less often than the source.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go run ./cmd/assets && .ci/fonts/install /out/fonts && .ci/verapdf/install /out/verapdf
ARG VERSION=development
ARG TARGETOS
ARG TARGETARCH
# Every dependency is pure Go, so the binary needs no C library.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X github.com/relaypdf/relaypdf/internal/version.Version=${VERSION}" -o /out/relaypdf ./cmd/relaypdf

FROM debian:13-slim AS base
# What nothing here reads is not unpacked: documentation, translations, drivers
# of graphics cards with their compiler, an archive of Java for huge heaps. The texts
# of licences are.
RUN printf 'path-exclude=%s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/info/*' '/usr/share/locale/*' '/usr/share/lintian/*' \
		'/usr/share/icons/*' '/usr/lib/*/dri/*' '/usr/lib/*/libLLVM*' '/usr/lib/chromium/libVkLayer_*' '/usr/lib/chromium/locales/*' \
		'/usr/lib/jvm/*/lib/ct.sym' '/usr/lib/jvm/*/lib/server/classes_nocoops.jsa' \
		'/usr/bin/muraster' '/usr/lib/libreoffice/share/gallery/*' '/usr/lib/libreoffice/share/template/*' \
		'/usr/lib/libreoffice/CREDITS.fodt' >/etc/dpkg/dpkg.cfg.d/slim \
	&& printf 'path-include=%s\n' '/usr/share/doc/*/copyright' '/usr/share/doc/*/LICENSE*' >>/etc/dpkg/dpkg.cfg.d/slim
# What `.ci/setup run` installs. fonts-noto-core has Arabic and most other
# scripts; Liberation, Carlito and Caladea stand in for Arial, Times, Courier,
# Calibri and Cambria by their measures. Lato to Old Standard are the gallery's.
# Another 9 MB are Gelasio (for Georgia), Inter, Montserrat and Source Sans and Serif,
# which Debian has not, or not in TrueType.
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		ca-certificates curl \
		chromium-headless-shell libnss3-tools \
		poppler-utils qpdf webp fontconfig \
		fonts-liberation fonts-dejavu-core fonts-crosextra-carlito fonts-crosextra-caladea \
		fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji fonts-symbola \
		fonts-lato fonts-manrope fonts-jetbrains-mono fonts-open-sans fonts-roboto-unhinted \
		fonts-paratype fonts-vollkorn fonts-cardo fonts-oldstandard \
		fonts-ocr-b fonts-urw-base35 \
	&& rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/* \
	&& groupadd --gid 10001 relaypdf \
	&& useradd --uid 10001 --gid relaypdf --no-log-init --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin relaypdf \
	&& install -d -o relaypdf -g relaypdf -m 0700 /var/lib/relaypdf
COPY --from=build /out/fonts /usr/local/share/fonts/relaypdf

# Service, browser and engines share this user, whose number Kubernetes wants to know. With deploy/seccomp.json they are
# kept apart by namespaces, without it by Landlock: see docs/operations/hardening.md.
ENV HOME=/var/lib/relaypdf \
	RELAYPDF_LISTEN=0.0.0.0:8787 \
	RELAYPDF_DATA_DIR=/var/lib/relaypdf \
	container=oci
VOLUME /var/lib/relaypdf
EXPOSE 8787
# Longer than RELAYPDF_SHUTDOWN_TIMEOUT (30s) should be what the orchestrator
# waits before it kills: `docker stop -t 40`.
STOPSIGNAL SIGTERM
# A worker has the private port only.
HEALTHCHECK --interval=15s --timeout=5s --start-period=2m --retries=3 \
	CMD ["sh", "-c", "curl -fsS -o /dev/null http://127.0.0.1:8787/health/ready || exec curl -fsS -o /dev/null http://127.0.0.1:8788/health/ready"]
ENTRYPOINT ["relaypdf"]
CMD ["serve"]

FROM base AS core
COPY --from=build /out/relaypdf /usr/local/bin/relaypdf
USER 10001:10001

# The programs under the AGPL: stamps, redaction and PDF/A need them.
FROM base AS agpl
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		mupdf-tools ghostscript \
	&& rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/*

FROM agpl AS slim
COPY --from=build /out/relaypdf /usr/local/bin/relaypdf
USER 10001:10001

FROM agpl AS full
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		pdftk-java \
		tesseract-ocr tesseract-ocr-eng tesseract-ocr-deu tesseract-ocr-fra \
		libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui python3-uno \
		libjaxb-java libistack-commons-java libtxw2-java libactivation-java libstax-ex-java libfastinfoset-java \
	&& rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/* \
	&& ln -s /usr/local/lib/relaypdf/verapdf/verapdf /usr/local/bin/verapdf
COPY --from=build /out/verapdf /usr/local/lib/relaypdf/verapdf
COPY --from=build /out/relaypdf /usr/local/bin/relaypdf
USER 10001:10001
