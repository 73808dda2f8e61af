package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"
)

func newCatalog(c *console) *cobra.Command {
	return group("catalog", "Keep a picture of a database", newCatalogDump(c))
}

func newCatalogDump(c *console) *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Write the names and types that a login sees as JSON",
		Long: "dump writes what statements are judged by: relations with their columns, functions, operators, types and casts, as\n" +
			"the login sees them. It holds no rows. Take it with the login that the agents are given. explain and check read\n" +
			"it with --catalog, and stories of pgairlock test with \"catalog: FILE\" in use.txt.\n\n" + exitCodes,
		Example: "  PGPASSWORD=… pgairlock catalog dump --dsn 'host=db1 dbname=shop user=airlock_reader' > shop.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !from.given() {
				return errors.New("say which database with --dsn")
			}
			cat, err := from.catalog(cmd.Context(), c)
			if err != nil {
				return err
			}
			return failed(json.NewEncoder(c.out).Encode(cat.Data()))
		},
	}
	cmd.Flags().StringVar(&from.dsn, "dsn", "", "the database, as libpq takes it; the password belongs into PGPASSWORD or a passfile")
	return cmd
}
