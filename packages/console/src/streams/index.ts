/** Responses that go on, line by line: loaded with the pages that show them. */
export { LogFollower, type LogSource } from "./log-follower.ts";
export { streamedLines } from "./streamed-lines.ts";
