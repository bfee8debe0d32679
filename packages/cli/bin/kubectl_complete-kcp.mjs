#!/usr/bin/env node
import { programs } from "./bundle.mjs";

programs.completeKcpPlugin(process.argv);
