package main

import (
	"github.com/spf13/cobra"
)

func newServe(c *console) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the proxy",
		Long: "serve runs the proxy until SIGTERM or SIGINT. The policy, and the secrets that come from files, are read again when\n" +
			"they change and on SIGHUP; what can't be read or is wrong changes nothing and is logged. Everything else in the\n" +
			"configuration needs a restart. The log goes to standard error, as JSON unless that is a terminal.\n\n" + exitCodes,
		Example: "  pgairlock serve\n  pgairlock serve -c /etc/pgairlock/pgairlock.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := open(cmd.Context(), file, c.err)
			if err != nil {
				return err
			}
			return failed(d.run(cmd.Context()))
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "pgairlock.yaml", "the configuration file")
	return cmd
}
