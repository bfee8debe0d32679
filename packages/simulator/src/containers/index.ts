/** What can be done with containers that do not run: commands, terminals and ports that pretend. */
export {
  type ChannelSessionOptions,
  channelProtocols,
  runChannelSession,
} from "./channel-session.ts";
export { runPortSession, tunnelledSpdy, webSocketBytes } from "./port-session.ts";
export {
  type CommandResult,
  type Container,
  type ContainerEnvironment,
  simulatedCommand,
} from "./pretend-command.ts";
export { runSpdyCommand, spdyCommandProtocols } from "./spdy-command-session.ts";
