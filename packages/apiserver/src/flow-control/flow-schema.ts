/** A FlowSchema in use: its level, and the counters of its requests. */
import type { FlowSchemaConfig } from "./flow-config.ts";
import type { PriorityLevel } from "./priority-level.ts";

export class FlowSchema {
  /** Replaced when the operator changes the FlowSchema. */
  config: FlowSchemaConfig;
  readonly level: PriorityLevel;
  dispatched = 0;
  executing = 0;
  waiting = 0;

  constructor(config: FlowSchemaConfig, level: PriorityLevel) {
    this.config = config;
    this.level = level;
  }
}
