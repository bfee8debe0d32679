/**
 * The published package as a folder that `npm pack` takes: JavaScript bundled from the workspaces,
 * their declarations beside it, one manifest.
 *
 * Everything from npm is bundled but what has native parts. Declarations are copied, with names of
 * workspaces turned into paths.
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { buildConsole } from "./console-files.ts";
import { copyDeclarations } from "./package-declarations.ts";

export interface PackageOptions {
  /** Emptied first. */
  readonly folder: string;
}

const doors = [
  "index",
  "sdk",
  "client",
  "kinds",
  "schema",
  "apiserver",
  "tenancy",
  "testing",
  "simulator",
] as const;
/** Has native parts that it finds relative to its own folder. */
const store = "classic-level";

export async function writePackage({ folder }: PackageOptions): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "bin"), { recursive: true });
  await bundle(folder);
  await buildConsole({ folder: join(folder, "lib", "console") });
  await keepCompressed(join(folder, "lib", "console", "assets"));
  await copyDeclarations(folder, doors);
  for (const [name, program] of Object.entries(programs))
    await writeFile(join(folder, "bin", `${name}.mjs`), bin(program), { mode: 0o755 });
  await writeFile(
    join(folder, "package.json"),
    `${JSON.stringify(await manifest(), undefined, 2)}\n`,
  );
  for (const name of ["README.md", "LICENSE"]) await copyFile(name, join(folder, name));
}

/** The commands, and what of the bundle each of them runs. */
const programs = {
  kcp: "main",
  // By the name of the package: `npx kcp` outside of a checkout would ask for another package.
  "kcp-ts": "main",
  "kubectl-ws": "workspaceMain",
  "kubectl-create-workspace": "createWorkspaceMain",
  "kubectl-kcp": "kcpPluginMain",
} as const;

function bin(program: string): string {
  return `#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=262144 node --max-semi-space-size=8 --v8-pool-size=0
import { ${program} } from "../lib/cli.js";

await ${program}(process.argv);
`;
}

/** Bundled CommonJS packages call require for Node's own modules; browsers have none of them. */
const require =
  'const require = globalThis.process?.getBuiltinModule?.("node:module").createRequire(import.meta.url);';

async function bundle(folder: string): Promise<void> {
  await build({
    entryPoints: {
      ...Object.fromEntries(doors.map((door) => [door, `packages/kcp-ts/dist/${door}.js`])),
      cli: "packages/cli/dist/index.js",
      // A thread, found beside what starts it, which several doors share.
      "shared/yaml-worker": "packages/apiserver/dist/content/yaml-worker.js",
    },
    outdir: join(folder, "lib"),
    bundle: true,
    splitting: true,
    chunkNames: "shared/[name]-[hash]",
    platform: "node",
    format: "esm",
    target: "node20",
    // Of functions only the local names go: methods, members and exports keep theirs.
    minify: true,
    // Node prints the line of an uncaught error.
    lineLimit: 400,
    logLevel: "warning",
    external: [store],
    banner: { js: require },
  });
}

async function manifest(): Promise<object> {
  const { version, description, license, engines } = await readJson("packages/kcp-ts/package.json");
  const { dependencies } = await readJson("packages/apiserver/package.json");
  const door = (name: string) => ({
    types: `./types/kcp-ts/${name}.d.ts`,
    default: `./lib/${name}.js`,
  });
  return {
    name: "kcp-ts",
    version,
    description,
    license,
    type: "module",
    engines,
    exports: {
      ".": door("index"),
      ...Object.fromEntries(doors.slice(1).map((name) => [`./${name}`, door(name)])),
    },
    bin: Object.fromEntries(Object.keys(programs).map((name) => [name, `bin/${name}.mjs`])),
    dependencies: { [store]: (dependencies as Record<string, string>)[store] },
    // Declarations name types of Node; programs without TypeScript need none.
    peerDependencies: { "@types/node": ">=20" },
    peerDependenciesMeta: { "@types/node": { optional: true } },
    publishConfig: { access: "public", provenance: true },
  };
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
}

/** Servers make the plain form of a file from its compressed one. */
async function keepCompressed(assets: string): Promise<void> {
  const names = await readdir(assets);
  for (const name of names) if (names.includes(`${name}.gz`)) await rm(join(assets, name));
}
