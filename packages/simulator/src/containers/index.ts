/** Simulated containers: commands, terminals and ports. */
export { channelProtocols, runChannelSession } from "./channel-session.ts";
export { runPortSession, tunnelledSpdy, webSocketBytes } from "./port-session.ts";
export {
  type CommandResult,
  type Container,
  type ContainerEnvironment,
  simulatedCommand,
} from "./simulated-command.ts";
export { runSpdyCommand, spdyCommandProtocols } from "./spdy-command-session.ts";
