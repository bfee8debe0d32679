/**
 * Rules about arrows: between packages, between rooms, through doors, to Node and npm, and in
 * circles.
 */
import { type Import, isTest, type SourceFile } from "./source-file.ts";
import type { SourceTree } from "./source-tree.ts";
import {
  externalTable,
  folderTable,
  forbiddenArrows,
  furtherEntryPoints,
  openFolders,
  packageTable,
  socketFolders,
  socketModules,
  subfolders,
  testEntryPoints,
} from "./tables.ts";

/** Tests may import more: the tools they are made of, and any room. Production files may not. */
export function packageArrows(tree: SourceTree): string[] {
  return findImports(tree, ({ file, place, one }) => {
    const scoped = /^@kcp-ts\/([\w-]+)/.exec(one.specifier);
    if (scoped === null || scoped[1] === place.pkg) return undefined;
    const target = scoped[1] as string;
    const rule = packageTable[place.pkg];
    if (rule === undefined) return `packages/${place.pkg} has no line in packageTable`;
    const isForTests = testEntryPoints.some((path) => file.path.startsWith(path));
    if (target === "testkit" && (isForTests || !tree.production().has(file.path))) return undefined;
    if (!rule.packages.includes(target)) {
      return `${place.pkg} may not import ${target} (may: ${rule.packages.join(", ") || "nothing"})`;
    }
    if (one.specifier.endsWith("/internal") && !isForTests && !isTest(file.path)) {
      return `${one.specifier} is for the test server and for tests`;
    }
    const door = tree.resolve(file.path, one);
    if (door !== undefined && tree.files.has(door)) return undefined;
    return `${one.specifier} is not a door that ${target} exports`;
  });
}

export function folderArrows(tree: SourceTree): string[] {
  const arrows = findImports(tree, ({ file, place, one }) => {
    const target = tree.resolve(file.path, one);
    const to = target === undefined ? undefined : placeOf(target);
    const isRuled = place.pkg === "tests" || tree.production().has(file.path);
    if (!isRuled || to === undefined || to.pkg !== place.pkg) return;
    if (place.room === undefined || to.room === place.room) return undefined;
    const rooms = folderTable[place.pkg] ?? {};
    const allowed = rooms[place.room];
    if (allowed === undefined) return `room ${place.pkg}/${place.room} has no line in roomTable`;
    // Types may point at the package's own vocabulary files, which are beside the rooms.
    if (to.room === undefined && one.kind === "type") return undefined;
    if (to.room === undefined) {
      return wiringValues.has(target as string)
        ? undefined
        : `a room may not import ${target}, which is wiring`;
    }
    if (allowed.includes(to.room)) return undefined;
    return `${place.room} may not import ${to.room} (may: ${allowed.join(", ") || "nothing"})`;
  });
  return [...arrows, ...forbiddenInTable()];
}

/** Files beside the rooms whose values rooms may use. */
const wiringValues = new Set([
  "packages/controlplane/src/log.ts",
  "packages/controlplane/src/options.ts",
]);

/** The tables themselves may not say what the invariants exclude. */
export function forbiddenInTable(packages = packageTable, rooms = folderTable): string[] {
  const arrows = [
    ...Object.entries(packages).flatMap(([from, rule]) => rule.packages.map((to) => [from, to])),
    ...Object.entries(rooms).flatMap(([pkg, table]) =>
      Object.entries(table).flatMap(([from, allowed]) =>
        allowed.map((to) => [`${pkg}/${from}`, `${pkg}/${to}`]),
      ),
    ),
  ] as [string, string][];
  return arrows.flatMap(([from, to]) =>
    forbiddenArrows
      .filter((rule) => rule.from.some(matches(from)) && rule.to.some(matches(to)))
      .map(({ because }) => `the table lets ${from} import ${to}, but ${because}`),
  );
}

function matches(name: string): (pattern: string) => boolean {
  return (pattern) =>
    pattern === name ||
    (pattern === "*" && !name.includes("/")) ||
    (pattern.endsWith("/*") && name.startsWith(pattern.slice(0, -1)));
}

export function importsByEntryPoint(tree: SourceTree): string[] {
  return findImports(tree, ({ file, one }) => {
    const target = tree.resolve(file.path, one);
    if (target === undefined || !one.specifier.startsWith(".")) return undefined;
    const to = roomFolder(target);
    if (to === undefined || isInside(file.path, to) || target === `${to}/index.ts`)
      return undefined;
    if (Object.hasOwn(openFolders, to) || furtherEntryPoints.includes(target)) return undefined;
    return `import ${to}/index.ts instead of ${target.slice(to.length + 1)}`;
  });
}

export function nodeAndNpm(tree: SourceTree): string[] {
  return findImports(tree, ({ file, place, one }) => {
    if (!tree.production().has(file.path) || /^[.]|^@kcp-ts\//.test(one.specifier))
      return undefined;
    if (!one.specifier.startsWith("node:")) return npmImport(tree, place, one);
    const node = packageTable[place.pkg]?.node ?? [];
    if (node !== "everywhere" && !node.includes(place.room ?? ""))
      return `${place.pkg}/${place.room ?? ""} runs without Node: no ${one.specifier}`;
    const folders = socketFolders[place.pkg];
    if (folders === undefined || one.kind === "type" || !socketModules.includes(one.specifier))
      return undefined;
    if (folders.some((folder) => file.path.startsWith(folder))) return undefined;
    return `${one.specifier} is for ${folders.join(" and ")}: nothing else knows sockets`;
  });
}

function npmImport(tree: SourceTree, place: Place, { specifier }: Import): string | undefined {
  const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] as string;
  const declared = tree.packages.find(({ folder }) => folder === place.pkg)?.dependencies ?? [];
  const allowed = externalTable[place.pkg] ?? declared;
  if (allowed.includes(name) && declared.includes(name)) return undefined;
  return `${place.pkg} may not import ${name} (may: ${allowed.join(", ") || "nothing"})`;
}

/** Each circle once, beginning at its first path. */
export function cycles(tree: SourceTree): string[] {
  const state = new Map<string, "open" | "done">();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]) => {
    if (state.get(path) === "done") return;
    if (state.get(path) === "open") {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
      return;
    }
    state.set(path, "open");
    for (const one of tree.files.get(path)?.imports ?? []) {
      const target = one.kind === "value" ? tree.resolve(path, one) : undefined;
      if (target !== undefined && tree.files.has(target)) visit(target, [...trail, path]);
    }
    state.set(path, "done");
  };
  for (const path of [...tree.files.keys()].sort()) visit(path, []);
  return found;
}

export function deadFiles(tree: SourceTree): string[] {
  const alive = new Set([...tree.production(), ...tree.reachableFrom(tree.tests())]);
  return [...tree.files.keys()]
    .filter((path) => !alive.has(path) && !isTest(path))
    .map((path) => `${path}: nothing leads here from a door, a bin, a test, a bench or a tool`);
}

interface Place {
  readonly pkg: string;
  /** Undefined for files beside the rooms. */
  readonly room: string | undefined;
}

interface Found {
  readonly file: SourceFile;
  readonly place: Place;
  readonly one: Import;
}

function findImports(tree: SourceTree, check: (found: Found) => string | undefined): string[] {
  const findings: string[] = [];
  for (const file of tree.files.values()) {
    const place = placeOf(file.path);
    if (place === undefined) continue;
    for (const one of file.imports) {
      const message = check({ file, place, one });
      if (message !== undefined) findings.push(`${file.path}:${one.line}: ${message}`);
    }
  }
  return findings;
}

function placeOf(path: string): Place | undefined {
  const match = /^(?:packages\/([\w-]+)\/src|(tests))\/(?:([\w-]+)\/)?/.exec(path);
  return match === null ? undefined : { pkg: (match[1] ?? match[2]) as string, room: match[3] };
}

/** The innermost room that a file is in. */
function roomFolder(path: string): string | undefined {
  const inner = subfolders.filter((folder) => isInside(path, folder));
  if (inner.length > 0) return inner.reduce((a, b) => (a.length > b.length ? a : b));
  return /^(?:packages\/[\w-]+\/src|tests\/[\w-]+)\/[\w-]+(?=\/)/.exec(path)?.[0];
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
