/** Bundles the command into one file: a cold start reads one file instead of hundreds. */
import { build } from "esbuild";

await build({
  entryPoints: ["packages/cli/dist/index.js"],
  outfile: "packages/cli/dist/bundle/kcp.mjs",
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  minifySyntax: true,
  sourcemap: true,
  logLevel: "warning",
  // Has a native part that it finds relative to its own folder.
  external: ["classic-level"],
  // Bundled CommonJS packages call require for Node's own modules.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
