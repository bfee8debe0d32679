/**
 * The published package as a folder that `npm pack` takes: JavaScript bundled from the workspaces,
 * their declarations beside it, one manifest.
 *
 * Everything from npm is bundled but what has native parts. Declarations are copied, with names of
 * workspaces turned into paths.
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";
import { build } from "esbuild";
import { buildConsole } from "./console-files.ts";

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
  await copyDeclarations(folder);
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

/** Those that the doors lead to. */
async function copyDeclarations(folder: string): Promise<void> {
  const found = new Set(doors.map((door) => `types/kcp-ts/${door}.d.ts`));
  for (const target of found) {
    const from = target.replace(/^types\/([^/]+)\//, "packages/$1/dist/");
    const text = withoutHeader(withPaths(await readFile(from, "utf8"), target));
    await mkdir(dirname(join(folder, target)), { recursive: true });
    await writeFile(join(folder, target), text);
    for (const [, , name = ""] of text.matchAll(specifier)) {
      if (name.startsWith("."))
        found.add(posix.join(posix.dirname(target), name.replace(/\.js$/, ".d.ts")));
    }
  }
}

/** A module's first comment is about its code: editors do not show it. */
function withoutHeader(text: string): string {
  return text.replace(/^\/\*\*(?:(?!\*\/).)*\*\/\n(?=import |\/\*\*|export (?:\*|\{))/s, "");
}

/** Doors that are files and not folders. */
function isFile(workspace: string, door: string): boolean {
  const isKinds = workspace === "apiserver" && door === "kinds";
  return door === "internal" || isKinds || door.startsWith("request/");
}

const specifier = /(from |import\()"([^"]+)"/g;

/** Servers make the plain form of a file from its compressed one. */
async function keepCompressed(assets: string): Promise<void> {
  const names = await readdir(assets);
  for (const name of names) if (names.includes(`${name}.gz`)) await rm(join(assets, name));
}

/** Each specifier as seen from `path`, which is below the folder of the package. */
export function withPaths(text: string, path: string): string {
  return text
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, "")
    .replaceAll(specifier, (whole, lead: string, name: string) => {
      if (name.startsWith(".")) return `${lead}"${name.replace(/\.ts$/, ".js")}"`;
      const [, workspace, door = ""] = /^@kcp-ts\/([\w-]+)\/?(.*)$/.exec(name) ?? [];
      if (workspace === undefined) return whole;
      const file = door === "" ? "index" : isFile(workspace, door) ? door : `${door}/index`;
      const to = relative(posix.dirname(path), `types/${workspace}/${file}.js`);
      return `${lead}"${to.startsWith(".") ? to : `./${to}`}"`;
    });
}
