# The container image of relaypdf.
#
# UNPROVEN: where this file was written no Docker engine runs. Its steps are
# those of .ci/setup and `make build`, which are tested, but nobody has built
# this image or started it yet. Remove this notice with the first build that
# answers GET /health/ready and renders a page.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t relaypdf .
#   docker run -p 8787:8787 -v relaypdf:/var/lib/relaypdf relaypdf

FROM golang:1.26-bookworm AS build
WORKDIR /src
# The modules are a layer of their own: they change less often than the source.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=development
# Every dependency is pure Go, so the binary needs no C library.
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=${VERSION}" -o /out/relaypdf ./cmd/relaypdf

FROM debian:12-slim
# What `.ci/setup run` installs. fonts-noto-core has Arabic and most other
# scripts; Liberation, Carlito and Caladea stand in for Arial, Times, Courier,
# Calibri and Cambria by their measures.
RUN apt-get update \
	&& apt-get install -y --no-install-recommends \
		ca-certificates curl \
		chromium-headless-shell libnss3-tools \
		poppler-utils qpdf mupdf-tools pdftk-java \
		libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui python3-uno wkhtmltopdf \
		fonts-liberation fonts-dejavu-core fonts-crosextra-carlito fonts-crosextra-caladea \
		fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji \
		fonts-urw-base35 \
	&& rm -rf /var/lib/apt/lists/* \
	&& useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin relaypdf \
	&& install -d -o relaypdf -g relaypdf -m 0700 /var/lib/relaypdf
COPY --from=build /out/relaypdf /usr/local/bin/relaypdf

# The service and the browser share this user. The browser's own sandbox needs
# user namespaces; where the container runtime forbids them, `relaypdf doctor`
# says so, and the runtime has to allow them. The sandbox is not turned off.
USER relaypdf
ENV HOME=/var/lib/relaypdf \
	RELAYPDF_LISTEN=0.0.0.0:8787 \
	RELAYPDF_DATA_DIR=/var/lib/relaypdf
VOLUME /var/lib/relaypdf
EXPOSE 8787
# Longer than RELAYPDF_SHUTDOWN_TIMEOUT (30s) should be what the orchestrator
# waits before it kills: `docker stop -t 40`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
	CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8787/health/ready"]
ENTRYPOINT ["relaypdf"]
CMD ["serve"]
