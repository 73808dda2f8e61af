"""Django: SET TIME ZONE first, the ORM over tables that it does not manage, server-side cursors, atomic blocks, inspectdb."""
import io
import os
import threading

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
                           "PASSWORD": os.environ["PGPASSWORD"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}},
    INSTALLED_APPS=[], USE_TZ=True, TIME_ZONE="UTC")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import Error, connection, models, transaction  # noqa: E402


class Order(models.Model):
    note = models.TextField()
    total = models.DecimalField(max_digits=10, decimal_places=1)
    delete_ = models.BooleanField(db_column="delete")

    class Meta:
        app_label, db_table, managed = "shop", "orders", False


class Customer(models.Model):
    name = models.TextField()
    ssn = models.TextField()

    class Meta:
        app_label, db_table, managed = "shop", "customers", False


def refusal(e):
    diag = e.__cause__.diag
    return f"{e.__cause__.pgcode} {(diag.message_detail or '').split(' (')[0].split('.')[0]}".strip()


def attempt(name, work):
    try:
        print(name, "not refused", work())
    except Error as e:
        print(name, refusal(e), "hint" if e.__cause__.diag.message_hint else "no hint")


print("model", [(o.id, o.note, o.total, o.delete_) for o in Order.objects.filter(id__lt=3).order_by("id")])
print("aggregate", Order.objects.filter(id__lte=50).aggregate(models.Sum("total"), models.Count("id")))
print("exists", Order.objects.filter(note="note 7").exists(), Order.objects.get(pk=8).note)
print("streamed", sum(1 for _ in Order.objects.filter(id__lte=50).iterator(chunk_size=20)))
attempt("refused", lambda: list(Customer.objects.all()))
attempt("refused", lambda: Order.objects.all().delete())
attempt("refused", lambda: Order(note="new", total=1, delete_=False).save())
print("allowed columns", list(Customer.objects.filter(id__lt=3).order_by("id").values_list("name", flat=True)))
try:
    with transaction.atomic():
        Order.objects.get(pk=1)
        with transaction.atomic():
            list(Customer.objects.all())
except Error as e:
    print("in a transaction", refusal(e))
print("after", Order.objects.get(pk=3).note)
with transaction.atomic():
    try:
        with transaction.atomic():
            list(Customer.objects.all())
    except Error as e:
        print("in a savepoint", refusal(e))
    print("after", Order.objects.get(pk=4).note)
out = io.StringIO()
call_command("inspectdb", "trg_t", stdout=out)
print("inspected", [line.strip() for line in out.getvalue().splitlines() if "models." in line and "import" not in line])
with connection.cursor() as cursor:
    threading.Timer(0.3, connection.connection.cancel).start()
    try:
        cursor.execute("SELECT count(*) FROM big a, big b, big c")
    except Error as e:
        print("cancelled", e.__cause__.pgcode)
    del connection.connection.notices[:]
    cursor.execute("SELECT id FROM big")
    print("limited", len(cursor.fetchall()), [n.split("\n")[0] for n in connection.connection.notices])
    cursor.execute("SELECT 5")
    print("after", cursor.fetchone())
