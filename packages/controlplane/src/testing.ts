/** The door `@kcp-ts/controlplane/testing`: an API server inside a test. */
export { type EventuallyOptions, eventually, FakeClock, settle } from "@kcp-ts/testkit";
export type {
  ControllerContext,
  ControllerProgram,
  Extensions,
  Handle,
  Middleware,
} from "./compose/extensions.ts";
export {
  type ActiveFault,
  type CustomResourceDefinition,
  customResourceDefinitions,
  type Fault,
  type FaultStatus,
  Faults,
  InjectedFault,
  type KubeconfigOptions,
  type ListenOptions,
  type RequestMatch,
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
  type TestListener,
} from "./testing/index.ts";
