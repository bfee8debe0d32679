/**
 * `npm run walks`: how many files and functions of ours one request passes through, and how many
 * lines the tree has.
 *
 *     npm run walks [-- --list]
 */
import { parseArgs } from "node:util";
import { countsOf, type MeasuredWalk, measureWalks } from "./walks/measure-walks.ts";
import { sourceLines } from "./walks/source-lines.ts";

const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
for (const walk of await measureWalks()) printWalk(walk, values.list);
printLines();

function printWalk(walk: MeasuredWalk, isListed: boolean): void {
  const { files, functions } = countsOf(walk);
  say(
    `${walk.name}: ${files} files (at most ${walk.filesMax}), ` +
      `${functions} functions (at most ${walk.functionsMax})`,
  );
  if (!isListed) return;
  for (const path of Object.keys(walk.called).sort()) {
    const names = (walk.called[path] ?? []).map((name) => name.replace(/@\d+$/, ""));
    say(`  ${path}: ${names.join(", ")}`);
  }
}

function printLines(): void {
  const rows = [...sourceLines()];
  for (const [folder, { source, tests, generated }] of rows)
    say(`${folder}: ${source} lines, ${tests} of tests, ${generated} generated`);
  const sum = (of: "source" | "tests" | "generated") =>
    rows.reduce((total, [, lines]) => total + lines[of], 0);
  say(`all: ${sum("source")} lines, ${sum("tests")} of tests, ${sum("generated")} generated`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
