# Two images without a distribution: Node, its libraries, and one bundle (tools/image-tree.ts).
#   docker build --target control-plane -t kcp:0.1.0 .
#   docker build --target agent -t kcp-syncer:0.1.0 .
# Both run as nobody in particular and with a read-only root file system.

FROM node:20-slim AS build
WORKDIR /src
COPY package.json package-lock.json tsconfig.base.json tsconfig.json ./
COPY packages ./packages
COPY tests ./tests
COPY examples ./examples
COPY tools ./tools
RUN npm ci --ignore-scripts
RUN npm run --silent build
RUN node tools/dist/image.js control-plane /image/control-plane
RUN node tools/dist/image.js agent /image/agent
RUN mkdir -p /image/data/kcp

# docs/guides/install.md
FROM scratch AS control-plane
COPY --from=build /image/control-plane /
# A volume takes over the owner of its mount point.
COPY --from=build --chown=65532:65532 /image/data /var/lib
WORKDIR /app
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=262144
USER 65532:65532
EXPOSE 6443
ENTRYPOINT ["/usr/bin/node", "--max-semi-space-size=8", "--v8-pool-size=0", "/app/kcp.mjs"]
CMD ["start", "--root-directory=/var/lib/kcp/root"]

# docs/guides/pull-mode.md
FROM scratch AS agent
COPY --from=build /image/agent /
WORKDIR /app
ENV NODE_ENV=production
USER 65532:65532
ENTRYPOINT ["/usr/bin/node", "/app/kcp.mjs"]
CMD ["syncer", "--help"]
