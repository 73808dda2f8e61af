# The program alone: statically linked, without a shell or another file than certificates, as a user without rights.
FROM golang:1.26-bookworm AS build
ARG VERSION=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make static VERSION="$VERSION" && mkdir -p /root-of-image/var/lib/pgairlock /root-of-image/etc/pgairlock

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /root-of-image/ /
COPY --from=build /src/bin/pgairlock-static /usr/bin/pgairlock
ENV PATH=/usr/bin HOME=/var/lib/pgairlock
USER 65532:65532
WORKDIR /var/lib/pgairlock
EXPOSE 6432 9432
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["pgairlock", "status", "--config", "/etc/pgairlock/pgairlock.yaml"]
ENTRYPOINT ["pgairlock"]
CMD ["serve", "--config", "/etc/pgairlock/pgairlock.yaml"]
