/**
 * `npm test`: the one test command. Bundle, lint, then every test of every package and of these tools (tidy among them).
 *
 * `npm test -- <pattern>` runs only the test files whose path contains the pattern, and no lint. What tests need and this machine lacks is
 * installed when that is possible, else said by name: the tests that need it skip themselves. The last lines are the counts of Node's
 * test runner. Exit code 1 when anything failed.
 */
import { findTestFiles } from "./testing/find-test-files.ts";
import { thisMachine } from "./testing/machine.ts";
import { providePrerequisites } from "./testing/prerequisites.ts";
import { runStep } from "./testing/run-step.ts";
import { runTests } from "./testing/run-tests.ts";

const [pattern] = process.argv.slice(2);

const files = await findTestFiles(pattern);
if (files.length === 0) {
  process.stderr.write(`no test file has ${JSON.stringify(pattern)} in its path\n`);
  process.exitCode = 1;
} else {
  const missing = await providePrerequisites(thisMachine());
  // The end-to-end tests start the bundle, so it is built even for a single test.
  const steps = [await runStep("bundle", process.execPath, ["tools/dist/bundle.js"])];
  if (pattern === undefined) {
    steps.push(await runStep("lint", "node_modules/.bin/biome", ["check", "."]));
    steps.push(await runStep("lint of promises", "node_modules/.bin/oxlint", []));
  }
  const passed = await runTests({ files, missing, failedSteps: steps.filter((step) => !step.ok) });
  process.exitCode = passed && steps.every((step) => step.ok) ? 0 : 1;
}
