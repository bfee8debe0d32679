export { parseScenarios } from "./scenario.ts";
export { Terminal } from "./terminal.ts";
