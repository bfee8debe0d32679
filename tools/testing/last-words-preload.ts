/**
 * Loaded into the process of every test file before the file (`--import`), and by inheritance into
 * its threads and the processes that it forks, which have nothing to say.
 */
import { isMainThread } from "node:worker_threads";
import { lastWordsVariable, type Mission } from "./last-words.ts";

const mission = process.env[lastWordsVariable];
if (mission !== undefined && isMainThread) {
  const { runnerPid, folder, patienceMs } = JSON.parse(mission) as Mission;
  if (process.ppid === runnerPid) {
    const { reportEnd: tellTheEnd } = await import("./tell-the-end.ts");
    tellTheEnd(folder, patienceMs);
  }
}
