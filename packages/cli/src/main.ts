/** The command `kcp`: one verb per file in commands/. */
import { addApiServer } from "./commands/apiserver.ts";
import { addBackup } from "./commands/backup.ts";
import { addClusterController } from "./commands/cluster-controller.ts";
import { addCompat } from "./commands/compat.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConsole } from "./commands/console.ts";
import { addCrdPuller } from "./commands/crd-puller.ts";
import { addDemo } from "./commands/demo.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addGenerate } from "./commands/generate.ts";
import { addJoin } from "./commands/join.ts";
import { addMigrateStorage } from "./commands/migrate-storage.ts";
import { addRestore } from "./commands/restore.ts";
import { addSim } from "./commands/sim.ts";
import { addStandby } from "./commands/standby.ts";
import { addStart } from "./commands/start.ts";
import { addStatus } from "./commands/status.ts";
import { addSyncer } from "./commands/syncer.ts";
import { addTestServer } from "./commands/test-server.ts";
import { addVersion } from "./commands/version.ts";
import { runProgram } from "./run-program.ts";

/** In the order of the help text. */
export const verbs = [
  addStart,
  addApiServer,
  addStandby,
  addStatus,
  addDoctor,
  addJoin,
  addBackup,
  addRestore,
  addMigrateStorage,
  addTestServer,
  addSim,
  addDemo,
  addConsole,
  addGenerate,
  addCompat,
  addSyncer,
  addCrdPuller,
  addClusterController,
  addCompletion,
  addVersion,
];

export function main(argv: readonly string[]): Promise<void> {
  return runProgram(verbs, argv);
}
