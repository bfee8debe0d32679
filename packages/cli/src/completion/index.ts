export { type Completion, complete } from "./complete.ts";
export { type Shell, shellScripts, shells } from "./shell-scripts.ts";
