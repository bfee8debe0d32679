export { Terminal } from "./terminal.ts";
export { readTranscript } from "./transcript.ts";
