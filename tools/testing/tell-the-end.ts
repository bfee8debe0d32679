/**
 * In the process of a test file: says when its tests have ended and when it exits, and ends it when
 * something keeps it from that for too long.
 *
 * Whether something is open is decided here, where the event loop still turns: its own timer holds
 * nothing open, and comes only if something else does.
 */
import { AsyncResource } from "node:async_hooks";
import { after } from "node:test";
import { type LastWords, writeLastWords } from "./last-words.ts";

export function reportEnd(folder: string, patienceMs: number): void {
  let words: LastWords = {};
  const say = (more: LastWords) => {
    words = { ...words, ...more };
    writeLastWords(folder, process.pid, words);
  };
  // Tests may put other timers in the place of Node's.
  const { setTimeout } = globalThis;
  const giveUp = () => {
    say({ open: process.getActiveResourcesInfo() });
    process.exit(1);
  };
  // What begins in a hook belongs to it: an error would be told as the hook's.
  const outside = new AsyncResource("LastWords");
  after(() => {
    const { exitCode = 0 } = process;
    say({ hasEndedTests: true, ...(exitCode === 0 ? {} : { hasErred: true }) });
    outside.runInAsyncScope(() => setTimeout(giveUp, patienceMs).unref());
  });
  // The test runner listens to both until shortly before the end, and makes the exit code of them;
  // when it has gone, Node's own way is kept.
  process.on("unhandledRejection", (reason) => {
    say({ hasErred: true });
    if (process.listenerCount("unhandledRejection") === 1) throw reason;
  });
  process.on("uncaughtExceptionMonitor", () => say({ hasErred: true }));
  process.on("exit", (exitCode) => say({ exitCode }));
}
