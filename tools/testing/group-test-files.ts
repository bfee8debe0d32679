/**
 * Test files that share a process. The start of a process costs 0.1 to 0.7 s of processor time, and
 * the files of a folder load and compile the same modules: a group pays once for them.
 *
 * A file that could disturb another one has a process of its own: it takes long, has hooks or
 * awaits outside of suites, or touches the process itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

const groupFilesMax = 8;
const hooks = /^(?:before|after|beforeEach|afterEach)\(/m;
const awaits = /^(?:\S.* = )?await /m;
const processWide =
  /[^.]\bmock\.|\bprocess\.(?:env|argv|execArgv|exit|exitCode|kill|on|once|chdir|memoryUsage|cpuUsage)\b|\bgc\b|setFlags|eventLoopUtilization|monitorEventLoopDelay|import\.meta\.filename/;

/** Groups of at most eight files of one folder, in the order of their first files. */
export function groupTestFiles(
  files: readonly string[],
  isLong: (file: string) => boolean,
): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    const folder = folderOf(file);
    const group = open.get(folder);
    if (isLong(file) || needsProcess(readFileSync(file, "utf8"))) groups.push([file]);
    else if (group === undefined || group.length === groupFilesMax) {
      const next = [file];
      groups.push(next);
      open.set(folder, next);
    } else group.push(file);
  }
  return groups;
}

function needsProcess(code: string): boolean {
  return hooks.test(code) || awaits.test(code) || processWide.test(code);
}

/** The part of a package: folders inside of it are too small for groups. */
function folderOf(file: string): string {
  const [part] = /^.*\/(?:tests\/dist\/[^/]+|dist)\/[^/]+(?=\/)/.exec(file) ?? [dirname(file)];
  return part;
}

/**
 * The module that Node's test runner starts for a group; a single file is its own. The imports are
 * static: everything is loaded before the first test begins, so that no test waits for a load.
 */
export function writeGroup(path: string, files: readonly string[]): string {
  const [first = path, ...others] = files;
  if (others.length === 0) return first;
  const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`);
  writeFileSync(path, imports.join(""));
  return path;
}
