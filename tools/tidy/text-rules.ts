/** Rules about what is written in files: calls with a better way, leftovers, size, headers. */
import {
  fileLinesMax,
  functionLinesMax,
  headerLinesMin,
  longFiles,
  longFunctions,
  packageLinesMax,
} from "./ratchets.ts";
import { isTest, lineOf, type SourceFile } from "./source-file.ts";
import type { SourceTree } from "./source-tree.ts";
import { openFolders } from "./tables.ts";

interface Ban {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Path prefixes where it is right. */
  readonly except: readonly string[];
  /** Path prefixes where it is wrong; everywhere if omitted. */
  readonly only?: readonly string[];
}

const time = ["packages/machinery/src/base/", "packages/testkit/"];

/**
 * The files that the get of an object in memory passes through without a promise: its route, its
 * user, its permission, its definition, its handler.
 */
const synchronousLane = [
  "packages/apiserver/src/access-sources/cluster-authenticator.ts",
  "packages/apiserver/src/authentication/",
  "packages/apiserver/src/authorization/",
  "packages/apiserver/src/cluster-directory.ts",
  "packages/apiserver/src/custom-resources/catalog.ts",
  "packages/apiserver/src/custom-resources/custom-version-codec.ts",
  "packages/apiserver/src/handlers/get.ts",
  "packages/apiserver/src/handlers/index.ts",
  "packages/apiserver/src/http/http1-api-request.ts",
  "packages/apiserver/src/http/http2-api-request.ts",
  "packages/apiserver/src/http/listener.ts",
  "packages/apiserver/src/pipeline.ts",
  "packages/apiserver/src/registry/catalog.ts",
  "packages/apiserver/src/registry/version-codec.ts",
  "packages/apiserver/src/request/api-request.ts",
  "packages/apiserver/src/server.ts",
  "packages/apiserver/src/stages/finish-response.ts",
  "packages/apiserver/src/stages/route-request.ts",
  "packages/tenancy/src/access/",
  "packages/tenancy/src/api-sharing/bound-resource-catalog.ts",
  "packages/tenancy/src/api-sharing/cached-resources/cached-definition.ts",
  // A forwarded get waits for the other shard alone.
  "packages/tenancy/src/shards/",
  "packages/tenancy/src/workspace-directory.ts",
  "packages/tenancy/src/workspaces/object-index.ts",
  "packages/tenancy/src/workspaces/tenancy.ts",
  "packages/tenancy/src/workspaces/workspace-tree.ts",
];

export const bans: readonly Ban[] = [
  { pattern: /\bDate\.now\b/g, instead: "take a Clock, call clock.now()", except: time },
  {
    pattern: /\bnew Date\(\)/g,
    instead: "take a Clock, use new Date(clock.now())",
    // A line of log has the time at which it is written.
    except: [...time, "packages/apiserver/src/log.ts"],
  },
  { pattern: /\bMath\.random\b/g, instead: "take a Random, call random.next()", except: time },
  {
    // Not the timeouts of sockets and sessions, which are Node's own business.
    pattern: /(?<!\.)\bset(?:Timeout|Interval)\b/g,
    instead: "take a Clock, call clock.schedule() or sleep(clock, …)",
    except: time,
  },
  {
    pattern: /\bconsole\.\w+/g,
    instead: "take a log, or write to process.stderr in the command line",
    // The log of programs that bring none, also in browsers.
    except: ["packages/sdk/src/client/log.ts"],
  },
  {
    pattern: /\bnew Function\b/g,
    instead: "closures: nothing here makes code of text",
    except: [],
  },
  { pattern: /\beval\(/g, instead: "closures: nothing here makes code of text", except: [] },
  {
    pattern: /\.(?:patch|patchStatus|applyStatus)\(|\bpreconditions:/g,
    instead: "write the object that was read: resource.sameObject(object), or sameVersion(object)",
    except: [],
    // Controllers that work in all logical clusters and in physical clusters.
    only: ["packages/controllers/", "packages/multicluster/", "packages/multicluster-server/"],
  },
  {
    pattern: /\bprocess\.exit\(/g,
    instead: "throw, or set process.exitCode in the command line",
    except: ["packages/cli/"],
  },
  {
    pattern: /\bMaybePromise\b|\binstanceof Promise\b/g,
    instead: "async, outside the lane of a get",
    except: synchronousLane,
  },
];

/** For what users run; tests may wait for real. */
export function bannedCalls(tree: SourceTree): string[] {
  const files = [...tree.files.values()].filter(
    ({ path }) => tree.production().has(path) && path.startsWith("packages/"),
  );
  return bans.flatMap(({ pattern, instead, except, only = [""] }) =>
    files
      .filter(({ path }) => !except.some((prefix) => path.startsWith(prefix)))
      .filter(({ path }) => only.some((prefix) => path.startsWith(prefix)))
      .flatMap((file) => occurrences(file, file.code, pattern, (text) => `no ${text}: ${instead}`)),
  );
}

const commentColumnsMax = 100;
/** The text of a line of a comment; diagrams are indented, and directives are one line. */
const proseLine = /^ *(?:\/\/|\/\*\*|\*) (?! |biome-ignore)/;

export function wideComments(tree: SourceTree): string[] {
  const written = [...tree.files.values()].filter(({ path }) => !path.includes("/generated/"));
  return written.flatMap(({ path, text, uncommented }) => {
    const code = uncommented.split("\n");
    return text
      .split("\n")
      .map((line, index) => ({ line, at: index + 1, isComment: code[index]?.trim() === "" }))
      .filter(({ line, isComment }) => isComment && [...line].length > commentColumnsMax)
      .filter(({ line }) => proseLine.test(line))
      .map(({ at }) => `${path}:${at}: wrap the comment at ${commentColumnsMax} columns`);
  });
}

/** Spelled in two parts, so that this file is not a finding. */
const leftover = new RegExp(
  `\\b(?:${["TO", "DO"].join("")}|${["FIX", "ME"].join("")}|X{3})\\b`,
  "g",
);

export function unfinishedMarks(tree: SourceTree): string[] {
  return [...tree.files.values()].flatMap((file) =>
    occurrences(
      file,
      file.text,
      leftover,
      (text) => `a leftover ${text}: do it, or say it plainly`,
    ),
  );
}

const notRun =
  /\b(?:it|test|describe|suite)\.(?:only|skip|todo)\b|\bt\.todo\(|\b(?:only|skip|todo): true\b/g;

export function testsThatDoNotRun(tree: SourceTree): string[] {
  return tree
    .tests()
    .map((path) => tree.files.get(path) as SourceFile)
    .flatMap((file) =>
      occurrences(file, file.code, notRun, (text) => `${text}: every test runs, or says why not`),
    );
}

/**
 * A package's entry point may pass on all that another entry point exports, and a room all that is
 * generated for it.
 */
export function exportForms(tree: SourceTree): string[] {
  const entryPoint = /^packages\/(?:[\w-]+\/src\/index|kcp-ts\/src\/[\w-]+)\.ts$/;
  return [...tree.files.values()].flatMap((file) =>
    occurrences(
      file,
      file.uncommented,
      entryPoint.test(file.path)
        ? /^export (?:default\b|\* from "(?!@kcp-ts\/|\.\/[\w-]+\/index\.ts).*)/gm
        : /^export (?:default\b|\*(?! from "\.\/(?:[\w-]+\/)?generated\/))/gm,
      (text) => `${text}: exports are named, one by one`,
    ),
  );
}

export function fileLengths(tree: SourceTree, ratchet = longFiles): string[] {
  const long = [...tree.files.values()]
    .filter(({ path }) => !path.includes("/generated/"))
    .map((file) => [file.path, file.lines.length - 1] as const);
  return overLimit(long, fileLinesMax, ratchet);
}

export function packageLengths(tree: SourceTree, limits = packageLinesMax): string[] {
  return Object.entries(limits).flatMap(([name, max]) => {
    const lines = [...tree.files.values()]
      .filter(({ path }) => path.startsWith(`packages/${name}/`) && tree.production().has(path))
      .reduce((sum, file) => sum + file.lines.length - 1, 0);
    return lines <= max ? [] : [`packages/${name}: ${lines} lines, at most ${max}: it is wiring`];
  });
}

export function functionLengths(tree: SourceTree, ratchet = longFunctions): string[] {
  const lengths = [...tree.files.values()].flatMap((file) =>
    functionsOf(file).map(({ name, lines }) => [`${file.path} ${name}`, lines] as const),
  );
  return overLimit(lengths, functionLinesMax, ratchet);
}

/**
 * Over the limit and over what the ratchet allows; or listed without need, so that a list only
 * shrinks.
 */
function overLimit(
  lengths: readonly (readonly [name: string, lines: number])[],
  max: number,
  ratchet: Readonly<Record<string, number>>,
): string[] {
  const actual = new Map(lengths);
  const over = [...actual]
    .filter(([name, lines]) => lines > Math.max(max, ratchet[name] ?? 0))
    .map(([name, lines]) => `${name}: ${lines} lines, at most ${ratchet[name] ?? max}`);
  const slack = Object.entries(ratchet)
    .filter(([name, allowed]) => (actual.get(name) ?? 0) < allowed)
    .map(([name]) => {
      const now = actual.get(name) ?? 0;
      return now > max
        ? `${name}: has ${now} lines now, lower its ratchet to that`
        : `${name}: is short enough or gone, drop it from the ratchet`;
    });
  return [...over, ...slack];
}

interface FunctionSpan {
  readonly name: string;
  readonly lines: number;
}

/**
 * Functions by their layout, which the formatter guarantees: a body ends at the first closing brace
 * that is indented like the line where the signature begins. Callbacks of `describe`, and functions
 * named so, are chapters of a test and not functions.
 */
export function functionsOf({ codeLines }: SourceFile): FunctionSpan[] {
  const found: FunctionSpan[] = [];
  for (const [opening, line] of codeLines.entries()) {
    if (!line.endsWith("{")) continue;
    const indent = indentOf(line);
    const start = signatureStart(codeLines, opening, indent);
    const name = functionName(codeLines[start] as string, line);
    if (name === undefined || name.startsWith("describe")) continue;
    const length = codeLines
      .slice(opening + 1)
      .findIndex((next) => next.startsWith(`${indent}}`) && indentOf(next) === indent);
    found.push({ name, lines: opening - start + length + 2 });
  }
  return found;
}

function signatureStart(lines: readonly string[], opening: number, indent: string): number {
  let start = opening;
  if (!/^[)}\]>]/.test((lines[opening] as string).slice(indent.length))) return start;
  do start--;
  while (
    start > 0 &&
    (indentOf(lines[start] as string) !== indent || (lines[start] as string).trim() === "")
  );
  return Math.max(0, start);
}

const declared = /^\s*(?:export )?(?:async )?function\*? ?([\w$]+)/;
const method =
  /^\s*(?:(?:static|async|override|private|protected|public|get|set)\s+|\*\s*)*(#?[\w$]+)(?:<.*>)?\(/;
const assigned = /^\s*(?:export )?(?:const|let|readonly|static)?\s*(#?[\w$]+)\s*[=:]/;
const notMethods = new Set(
  "if for while switch catch with return await new throw describe suite it test function".split(
    " ",
  ),
);

function functionName(first: string, last: string): string | undefined {
  const name = declared.exec(first)?.[1];
  if (name !== undefined) return name;
  if (last.endsWith("=> {")) {
    const called = /^\s*([\w.$]+)\(/.exec(first)?.[1] ?? "";
    if (called === "describe" || called === "suite") return undefined;
    return assigned.exec(first)?.[1] ?? `(${called || "arrow"})`;
  }
  const called = method.exec(first)?.[1];
  return called === undefined ||
    notMethods.has(called) ||
    (!last.includes(")") && !/^\s*[)}\]>]/.test(last))
    ? undefined
    : called;
}

function indentOf(line: string): string {
  return /^\s*/.exec(line)?.[0] ?? "";
}

export function foldersHaveEntryPoints(tree: SourceTree): string[] {
  const folders = new Set<string>();
  for (const path of tree.production()) {
    const folder = /^packages\/[\w-]+\/src\/[\w-]+(?=\/)/.exec(path)?.[0];
    if (folder !== undefined && !Object.hasOwn(openFolders, folder)) folders.add(folder);
  }
  return [...folders]
    .filter((folder) => !tree.files.has(`${folder}/index.ts`))
    .map((folder) => `${folder}: a room has a door, index.ts`);
}

export function headers(tree: SourceTree): string[] {
  return [...tree.files.values()]
    .filter(
      ({ path }) => tree.production().has(path) && !isTest(path) && !path.endsWith("/index.ts"),
    )
    .filter(
      ({ lines, text }) =>
        lines.length > headerLinesMin && !/^\s*(?:import [^;]*;\s*)*\/[*/]/.test(text),
    )
    .map(({ path }) => `${path}: begins without a comment that says what it is and is not`);
}

function occurrences(
  file: SourceFile,
  text: string,
  pattern: RegExp,
  message: (text: string) => string,
): string[] {
  return [...text.matchAll(pattern)].map(
    (match) => `${file.path}:${lineOf(text, match.index)}: ${message(match[0].trim())}`,
  );
}
