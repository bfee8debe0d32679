# The agent of a physical cluster (docs/guides/pull-mode.md): docker build -t kcp-syncer:0.1.0 .
# The image holds Node and one file. It writes nothing, needs no user of its own, and runs with a read-only root file system.

FROM node:20-slim AS build
WORKDIR /src
COPY package.json package-lock.json tsconfig.base.json tsconfig.json ./
COPY packages ./packages
COPY tests ./tests
COPY examples ./examples
COPY tools ./tools
RUN npm ci --ignore-scripts
RUN npm run --silent build

FROM node:20-slim
COPY --from=build /src/packages/cli/dist/bundle/kcp-syncer.mjs /app/kcp-syncer.mjs
WORKDIR /app
ENV NODE_ENV=production
USER 65532:65532
ENTRYPOINT ["node", "/app/kcp-syncer.mjs"]
CMD ["syncer", "--help"]
