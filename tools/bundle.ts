/**
 * Bundles the command into one file: a cold start reads one file instead of hundreds. And the agent
 * of a cluster into another, which is all that its image holds. A thread of the command is a
 * program of its own, and is found beside it.
 */
import { cp } from "node:fs/promises";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { buildConsole } from "./console-files.ts";

const shared: BuildOptions = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  minifySyntax: true,
  sourcemap: true,
  logLevel: "warning",
  // Bundled CommonJS packages call require for Node's own modules.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
};

/**
 * The store has native parts that it finds relative to its own folder: it stays outside, and is not
 * asked for where nobody uses it.
 */
const nativePartsStayOutside: Plugin = {
  name: "native-parts-stay-outside",
  setup(builder) {
    builder.onResolve({ filter: /^classic-level$/ }, ({ path }) => ({
      path,
      external: true,
      sideEffects: false,
    }));
  },
};

const runAgent = `import { agentMain } from "./agent.js"; await agentMain(process.argv);`;

for (const [file, from] of [
  ["kcp.mjs", { entryPoints: ["packages/cli/dist/index.js"] }],
  ["kcp-syncer.mjs", { stdin: { contents: runAgent, resolveDir: "packages/cli/dist" } }],
  ["yaml-worker.js", { entryPoints: ["packages/apiserver/dist/content/yaml-worker.js"] }],
] as const) {
  const outfile = `packages/cli/dist/bundle/${file}`;
  const entry = "stdin" in from ? from : { entryPoints: [...from.entryPoints] };
  await build({ ...shared, ...entry, plugins: [nativePartsStayOutside], outfile });
}

const site = "packages/console/dist/site";
await buildConsole({ folder: site });
// The command finds the console beside its bundle.
await cp(site, "packages/cli/dist/bundle/console", { recursive: true, force: true });
