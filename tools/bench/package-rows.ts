/** The packed package: its size, its dependencies, and what an import of the SDK takes. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { writePackage } from "../package-files.ts";
import type { Bench } from "./contest.ts";
import type { Unit } from "./report.ts";

const exec = promisify(execFile);
const importsMeasured = 9;

export async function packageRows({ report }: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "kcp-ts-bench-"));
  try {
    await writePackage({ folder });
    const packed = await exec("npm", ["pack", "--silent"], { cwd: folder });
    const { size } = await stat(join(folder, packed.stdout.trim().split("\n").at(-1) ?? ""));
    const manifest = await readFile(join(folder, "package.json"), "utf8");
    const { dependencies } = JSON.parse(manifest) as { readonly dependencies: object };
    const program = importProgram(join(folder, "lib/sdk.js"));
    const imports: ImportFigures[] = [];
    for (let n = 0; n < importsMeasured; n++) {
      const { stdout } = await exec(process.execPath, ["--input-type=module", "--eval", program]);
      imports.push(JSON.parse(stdout) as ImportFigures);
    }
    const row = (work: string, figure: number, unit: Unit, atMost: number) =>
      report.add({ work, server: "kcp", figure, unit, wanted: { what: "figure", atMost } });
    row("the packed package", size / 1e6, "MB", 1.5);
    row("its dependencies", Object.keys(dependencies).length, "packages", 8);
    row("import of the SDK, elapsed", median(imports.map(({ ms }) => ms)), "ms", 40);
    row("... of a processor", median(imports.map(({ cpuMs }) => cpuMs)), "ms", 40);
    row("... memory", median(imports.map(({ megabytes }) => megabytes)), "MB", 25);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface ImportFigures {
  readonly ms: number;
  readonly cpuMs: number;
  readonly megabytes: number;
}

function importProgram(path: string): string {
  return `
    const [memory, cpu, at] = [process.memoryUsage.rss(), process.cpuUsage(), performance.now()];
    await import(${JSON.stringify(path)});
    const ms = performance.now() - at;
    const { user, system } = process.cpuUsage(cpu);
    const megabytes = (process.memoryUsage.rss() - memory) / 1e6;
    console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1e3, megabytes }));
  `;
}

function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}
