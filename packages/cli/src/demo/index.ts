/** The demo: a stage, a story, and somebody who plays it. */
export { DemoStepFailed, type RunDemoOptions, runDemo } from "./play.ts";
export { DemoEnvironment } from "./stage.ts";
export { type DemoStep, demoSteps, prepareDemo } from "./story.ts";
