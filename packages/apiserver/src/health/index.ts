export {
  type HealthCheck,
  type HealthChecks,
  isHealthPath,
  pingCheck,
  serveHealth,
} from "./health.ts";
