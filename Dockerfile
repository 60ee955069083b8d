# One image for every role: "serve" with all of them by default, any other parley command on demand.

# What is built once, and not by every container that starts. The console's web app is built with packages that the image
# itself has no use for.
FROM node:24.21.0-bookworm-slim AS build

WORKDIR /parley

# Packages change less often than the sources: their layer is built first and used again.
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund

COPY tsconfig.json ./
# The web app has the guides in it.
COPY docs docs
COPY dashboard dashboard
RUN npm run build

COPY bin bin
COPY src src
RUN bin/parley matcher prepare --into encoder

FROM node:24.21.0-bookworm-slim

ENV NODE_ENV=production \
    PARLEY_HOST=0.0.0.0 \
    PARLEY_CONSOLE_HOST=0.0.0.0 \
    PARLEY_OPS_HOST=0.0.0.0 \
    PARLEY_MATCHER_DIR=/tmp/parley/matcher \
    PARLEY_ENCODER_DIR=/parley/encoder

WORKDIR /parley

# Optional packages stay in: the matcher's engine has its native part among them. What goes: the optional companions of
# packages that we run otherwise, and the encoder's runtime for other platforms.
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --no-audit --no-fund \
  && rm -r node_modules/react node_modules/react-dom node_modules/scheduler node_modules/@types node_modules/undici-types \
  && find node_modules/onnxruntime-node/bin -mindepth 2 -maxdepth 2 -type d ! -name linux -exec rm -r {} + \
  && find node_modules/onnxruntime-node/bin -mindepth 3 -maxdepth 3 -type d ! -name "$(node -p process.arch)" -exec rm -r {} +

# Before the sources: as long as the same file is built, its layer stays the same.
COPY --from=build /parley/encoder encoder

# The server needs no build: Node runs its TypeScript sources as they are.
COPY bin bin
COPY functions functions
COPY migrations migrations
COPY prices prices
COPY simulator simulator
COPY scripts/seed.ts scripts/
COPY src src
COPY --from=build /parley/dashboard/dist dashboard/dist

# Everything above belongs to root and is read-only for the process.
USER node

EXPOSE 8080 8081 9090

HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PARLEY_OPS_PORT || 9090}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["/parley/bin/parley"]
CMD ["serve", "gateway", "worker", "console"]
