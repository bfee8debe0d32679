/** A terminal in the page: what programs in containers print, and what is typed to them. */
export { CommandSession, type CommandSocket } from "./command-session.ts";
export { Screen, type ScreenOptions } from "./screen.ts";
export { TerminalView } from "./terminal-view.tsx";
