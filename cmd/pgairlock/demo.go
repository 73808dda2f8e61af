package main

import "github.com/spf13/cobra"

func newDemo(c *console) *cobra.Command { return &cobra.Command{Use: "demo"} }
