# The parser is C: the image that runs it has the same C library as the one that built it.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --home-dir /var/lib/pgairlock pgairlock
COPY --from=build /src/bin/pgairlock /usr/local/bin/pgairlock
USER pgairlock
WORKDIR /var/lib/pgairlock
EXPOSE 6432
ENTRYPOINT ["pgairlock"]
CMD ["serve", "--config", "/etc/pgairlock/pgairlock.yaml"]
