/**
 * `npm test`: the one test command. It bundles, lints, and runs every test of every package and of
 * these tools (tidy among them).
 *
 * `npm test -- <pattern>…` runs the test files whose path contains one of the patterns, and does
 * not lint. Prerequisites that this machine lacks are installed if possible, and named otherwise:
 * the tests that need them skip themselves. The last lines are the counts of Node's test runner.
 * The exit code is 1 when anything fails.
 */
import { findTestFiles } from "./testing/find-test-files.ts";
import { thisMachine } from "./testing/machine.ts";
import { providePrerequisites } from "./testing/prerequisites.ts";
import { runStep } from "./testing/run-step.ts";
import { runTests } from "./testing/run-tests.ts";

const patterns = process.argv.slice(2);

const files = await findTestFiles(patterns);
if (files.length === 0) {
  process.stderr.write(
    `no test file has ${patterns.map((pattern) => JSON.stringify(pattern)).join(" or ")} in its path\n`,
  );
  process.exitCode = 1;
} else {
  const missing = await providePrerequisites(thisMachine());
  // The end-to-end tests start the bundle, so it is built even for a single test.
  const steps = [await runStep("bundle", process.execPath, ["tools/dist/bundle.js"])];
  if (patterns.length === 0) {
    steps.push(await runStep("lint", "node_modules/.bin/biome", ["check", "."]));
    steps.push(await runStep("lint of promises", "node_modules/.bin/oxlint", []));
  }
  const passed = await runTests({ files, missing, failedSteps: steps.filter((step) => !step.ok) });
  process.exitCode = passed && steps.every((step) => step.ok) ? 0 : 1;
}
