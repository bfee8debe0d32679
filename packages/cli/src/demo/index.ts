/** The demo: a stage, a story, and somebody who plays it. */
export { type PlayOptions, play, StoryFailed } from "./play.ts";
export { Stage } from "./stage.ts";
export { prepare, type Step, story } from "./story.ts";
