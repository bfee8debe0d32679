/**
 * The files of the console: modules with a hash in their names, one stylesheet, compressed forms
 * beside them, and the document that names them.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { build } from "esbuild";

export interface ConsoleFiles {
  /** What the first screen needs, in bytes, compressed. */
  readonly firstScreenBytes: number;
  /** Its modules, the largest first: their bytes before compression, and their names. */
  readonly firstScreenParts: readonly string[];
}

const compress = promisify(gzip);
const styleFile = "packages/console/style/console.css";
const iconFile = "packages/console/style/icon.svg";

/** Writes the files; `folder` is emptied first. */
export async function buildConsole({ folder }: { folder: string }): Promise<ConsoleFiles> {
  const assets = join(folder, "assets");
  await rm(folder, { recursive: true, force: true });
  await mkdir(assets, { recursive: true });
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: 'import { startConsole } from "./index.js"; startConsole();',
      resolveDir: "packages/console/dist",
      sourcefile: "console.js",
    },
    outdir: assets,
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17"],
    minify: true,
    write: false,
    metafile: true,
    entryNames: "console-[hash]",
    chunkNames: "[name]-[hash]",
    logLevel: "warning",
  });
  const style = await styleText();
  const styleName = hashed("console", style, "css");
  const icon = await readFile(iconFile);
  const iconName = hashed("icon", icon, "svg");
  const files = new Map<string, Uint8Array>([
    ...outputFiles.map(({ path, contents }) => [basename(path), contents] as const),
    [styleName, style],
    [iconName, icon],
  ]);
  const sizes = new Map<string, number>();
  for (const [name, contents] of files) {
    const zipped = await compress(contents, { level: constants.Z_BEST_COMPRESSION });
    sizes.set(name, zipped.length);
    await writeFile(join(assets, name), contents);
    await writeFile(join(assets, `${name}.gz`), zipped);
  }
  const first = staticImports(metafile.outputs);
  await writeFile(
    join(folder, "index.html"),
    documentText({ modules: first, styleName, iconName }),
  );
  const firstScreenBytes = [...first, styleName].reduce(
    (sum, name) => sum + (sizes.get(name) ?? 0),
    0,
  );
  return { firstScreenBytes, firstScreenParts: partsOf(metafile.outputs, first) };
}

async function styleText(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [styleFile],
    minify: true,
    write: false,
    logLevel: "warning",
  });
  return (outputFiles[0] as { contents: Uint8Array }).contents;
}

function hashed(name: string, contents: Uint8Array, extension: string): string {
  const digest = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase();
  return `${name}-${digest}.${extension}`;
}

interface Output {
  readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
}

/** The entry point and all that it imports before it runs: the entry point comes first. */
function staticImports(outputs: Readonly<Record<string, Output>>): readonly string[] {
  const [entry] = Object.entries(outputs).find(([path]) => /\/console-\w+\.js$/.test(path)) ?? [];
  if (entry === undefined) throw new Error("the bundle of the console has no entry point");
  const found = new Set<string>([entry]);
  for (const path of found)
    for (const one of outputs[path]?.imports ?? [])
      if (one.kind === "import-statement") found.add(one.path);
  return [...found].map((path) => basename(path));
}

function partsOf(
  outputs: Readonly<Record<string, Output>>,
  files: readonly string[],
): readonly string[] {
  return Object.entries(outputs)
    .filter(([path]) => files.includes(basename(path)))
    .flatMap(([, { inputs }]) => Object.entries(inputs))
    .sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput)
    .map(([name, { bytesInOutput }]) => `${bytesInOutput} ${name}`);
}

interface DocumentParts {
  readonly modules: readonly string[];
  readonly styleName: string;
  readonly iconName: string;
}

function documentText({ modules, styleName, iconName }: DocumentParts): string {
  const [entry, ...others] = modules;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>kcp</title>
<link rel="icon" href="/console/assets/${iconName}">
<link rel="stylesheet" href="/console/assets/${styleName}">
${others.map((name) => `<link rel="modulepreload" href="/console/assets/${name}">`).join("\n")}
<script type="module" src="/console/assets/${entry}"></script>
</head>
<body><div id="console"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`;
}
