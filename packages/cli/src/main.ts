/** The command `kcp`: one verb per file in commands/. Prose goes to stderr; exit code 1 is a failure, 2 a wrong command line. */
import { Command } from "commander";
import { addBackup } from "./commands/backup.ts";
import { addClusterController } from "./commands/cluster-controller.ts";
import { addCompat } from "./commands/compat.ts";
import { addCrdPuller } from "./commands/crd-puller.ts";
import { addDemo } from "./commands/demo.ts";
import { addGenerate } from "./commands/generate.ts";
import { addRestore } from "./commands/restore.ts";
import { addSim } from "./commands/sim.ts";
import { addStart } from "./commands/start.ts";
import { addTestServer } from "./commands/test-server.ts";

export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command("kcp")
    .description("A Kubernetes API server for thousands of logical clusters, in one process.")
    .version("0.1.0")
    .showHelpAfterError("(add --help for what is possible)")
    .exitOverride();
  addStart(program);
  addBackup(program);
  addRestore(program);
  addTestServer(program);
  addSim(program);
  addDemo(program);
  addGenerate(program);
  addCompat(program);
  addCrdPuller(program);
  addClusterController(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

function report(error: unknown): number {
  if (error instanceof Error && "exitCode" in error) return error.exitCode === 0 ? 0 : 2;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`kcp: ${message}\n`);
  return 1;
}
