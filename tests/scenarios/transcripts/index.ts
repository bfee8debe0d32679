export { Terminal } from "./terminal.ts";
export { parseScenarios } from "./transcript.ts";
