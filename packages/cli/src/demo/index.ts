/** The demo: its environment, its steps, and their runner. */

export { DemoEnvironment } from "./demo-environment.ts";
export { type DemoStep, demoSteps, prepareDemo } from "./demo-steps.ts";
export { DemoStepFailed, offerNext, type RunDemoOptions, runDemo } from "./run-demo.ts";
