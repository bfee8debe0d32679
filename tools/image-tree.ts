/**
 * The files of an image, complete and without a distribution: Node, the libraries that the loader
 * names, and one bundle. There is no shell in it, nothing to update but Node, and nothing that a
 * program could write to.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

const bundle = "packages/cli/dist/bundle";

/** The user of the processes; groups and names are for programs that look them up. */
const userFiles = {
  "etc/passwd": "root:x:0:0::/:/none\nkcp:x:65532:65532::/var/lib/kcp:/none\n",
  "etc/group": "root:x:0:\nkcp:x:65532:\n",
  "etc/nsswitch.conf": "hosts: files dns\n",
};

const targets = {
  "control-plane": writeControlPlane,
  agent: (folder: string) => copy(join(bundle, "kcp-syncer.mjs"), join(folder, "app/kcp.mjs")),
} as const;

export type ImageTarget = keyof typeof targets;
export const imageTargets = Object.keys(targets) as readonly ImageTarget[];

/** The folder is emptied first. */
export function writeImageTree(target: ImageTarget, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  copy(process.execPath, join(folder, "usr/bin/node"));
  for (const library of librariesOf(process.execPath)) copy(library, join(folder, library));
  for (const [path, text] of Object.entries(userFiles)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  // Mount points: the file system of the image is read-only.
  for (const path of ["tmp", "etc/kcp", "kcp", "proc", "dev"])
    mkdirSync(join(folder, path), { recursive: true });
  targets[target](folder);
}

function writeControlPlane(folder: string): void {
  const app = join(folder, "app");
  for (const name of ["kcp.mjs", "yaml-worker.js", "console"])
    copy(join(bundle, name), join(app, "lib", name));
  for (const [name, program] of Object.entries(programs))
    writeFileSync(
      join(app, `${name}.mjs`),
      `import { ${program} } from "./lib/kcp.mjs";\nawait ${program}(process.argv);\n`,
    );
  const own = `linux-${process.arch}`;
  for (const name of storePackages("classic-level")) {
    const to = join(app, "node_modules", name);
    copy(join("node_modules", name), to);
    const isOther = (one: string) => one !== own && !one.startsWith(`${own}+`);
    if (name === "classic-level")
      for (const other of readdirSync(join(to, "prebuilds")).filter(isOther))
        rmSync(join(to, "prebuilds", other), { recursive: true });
    // Sources of what is built already.
    for (const part of ["deps", "binding.cc", "binding.gyp"])
      rmSync(join(to, part), { recursive: true, force: true });
  }
}

const programs = { kcp: "main", "kubectl-ws": "workspaceMain", "kubectl-kcp": "kcpPluginMain" };

/** The store and what it requires at run time. */
function storePackages(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  const url = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  const { dependencies = {} } = JSON.parse(readFileSync(url, "utf8")) as {
    dependencies?: Record<string, string>;
  };
  // Of native parts that are built already, only macros are left.
  for (const next of Object.keys(dependencies))
    if (next !== "napi-macros") storePackages(next, found);
  return found;
}

/** As the loader resolves them; the loader itself is one of them. */
function librariesOf(program: string): readonly string[] {
  const text = execFileSync("ldd", [program], { encoding: "utf8" });
  const named = [...text.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  // glibc loads these by name when a program resolves hosts.
  const folder = dirname(named.find((path) => path.includes("libc.so")) ?? "");
  const byName = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];
  const present = new Set(readdirSync(folder));
  return [
    ...named,
    ...byName.filter((name) => present.has(name)).map((name) => join(folder, name)),
  ];
}

/** Links are followed: an image has files. */
function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(realpathSync(from), to, { recursive: true, filter: (path) => !path.endsWith(".map") });
}
